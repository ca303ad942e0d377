CREATE TABLE articles (
  url TEXT,
  title TEXT PRIMARY KEY,
  authors TEXT,
  published_date TEXT,
  article_category TEXT,
  word_count INTEGER,
  full_content TEXT
);
