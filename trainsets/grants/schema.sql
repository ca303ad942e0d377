CREATE TABLE programmes (
  code TEXT PRIMARY KEY,
  name TEXT NOT NULL
);
CREATE TABLE applicants (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  organisation TEXT,
  country TEXT
);
CREATE TABLE proposals (
  id INTEGER PRIMARY KEY,
  title TEXT NOT NULL,
  applicant_id INTEGER NOT NULL REFERENCES applicants (id),
  programme TEXT NOT NULL REFERENCES programmes (code),
  budget_eur INTEGER,
  requested_eur INTEGER,
  approved_eur INTEGER,
  status TEXT CHECK (status IN ('approved', 'rejected', 'withdrawn', 'pending')),
  submitted TEXT,
  decided_on TEXT,
  country TEXT,
  panel_score REAL,
  summary TEXT
);
CREATE TABLE reviews (
  proposal_id INTEGER NOT NULL REFERENCES proposals (id),
  reviewer TEXT NOT NULL,
  score INTEGER,
  comments TEXT,
  PRIMARY KEY (proposal_id, reviewer)
);
