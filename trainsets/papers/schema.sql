CREATE TABLE authors (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  affiliation TEXT,
  country TEXT
);
CREATE TABLE papers (
  doi TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  venue TEXT NOT NULL,
  year INTEGER NOT NULL,
  published TEXT NOT NULL,
  pages INTEGER,
  field TEXT CHECK (field IN ('ecology', 'materials', 'public health')),
  funding TEXT,
  abstract TEXT NOT NULL
);
CREATE TABLE authorship (
  paper TEXT NOT NULL REFERENCES papers (doi),
  author_id INTEGER NOT NULL REFERENCES authors (id),
  position INTEGER NOT NULL,
  PRIMARY KEY (paper, author_id)
);
CREATE TABLE citations (
  citing TEXT NOT NULL REFERENCES papers (doi),
  cited TEXT NOT NULL REFERENCES papers (doi),
  PRIMARY KEY (citing, cited)
);
