CREATE TABLE judges (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  appointed INTEGER NOT NULL,
  retired INTEGER
);
CREATE TABLE matters (
  code TEXT PRIMARY KEY,
  label TEXT NOT NULL,
  court_fee INTEGER NOT NULL
);
CREATE TABLE rulings (
  case_no TEXT PRIMARY KEY,
  chamber TEXT NOT NULL,
  judge_id INTEGER NOT NULL REFERENCES judges (id),
  subject TEXT NOT NULL REFERENCES matters (code),
  respondent TEXT NOT NULL,
  filed TEXT NOT NULL,
  decided TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('allowed', 'dismissed', 'partly allowed', 'withdrawn')),
  amount REAL,
  costs_awarded INTEGER,
  reasons TEXT NOT NULL
);
CREATE TABLE cites (
  case_no TEXT NOT NULL REFERENCES rulings (case_no),
  cited_case TEXT NOT NULL,
  PRIMARY KEY (case_no, cited_case)
);
CREATE VIEW recent_rulings AS
SELECT r.case_no, r.chamber, j.name AS judge, m.label AS matter, r.respondent,
       substr(r.decided, 7, 4) || '-' || substr(r.decided, 4, 2) || '-' || substr(r.decided, 1, 2) AS decided_on,
       r.outcome, r.amount
FROM rulings AS r
JOIN judges AS j ON j.id = r.judge_id
JOIN matters AS m ON m.code = r.subject
WHERE substr(r.decided, 7, 4) >= '2022';
