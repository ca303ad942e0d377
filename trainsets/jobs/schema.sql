CREATE TABLE employers (
  "Employer ID" INTEGER PRIMARY KEY,
  "Name" TEXT NOT NULL,
  "Sector" TEXT NOT NULL,
  "Headcount" INTEGER,
  "Founded" INTEGER
);
CREATE TABLE "Job Ads" (
  "Ad ID" INTEGER PRIMARY KEY,
  "Job Title" TEXT NOT NULL,
  "Employer ID" INTEGER NOT NULL REFERENCES employers ("Employer ID"),
  "City" TEXT,
  "Contract" TEXT NOT NULL CHECK ("Contract" IN ('permanent', 'fixed-term', 'temporary', 'freelance', 'apprenticeship')),
  "Salary From" INTEGER,
  "Salary To" INTEGER,
  "Posted" TEXT NOT NULL,
  "Closes" TEXT,
  "Remote" TEXT NOT NULL CHECK ("Remote" IN ('yes', 'no', 'hybrid')),
  "Seniority" TEXT,
  "Advert" TEXT NOT NULL
);
CREATE TABLE skills (
  "Ad ID" INTEGER NOT NULL REFERENCES "Job Ads" ("Ad ID"),
  "Skill" TEXT NOT NULL,
  PRIMARY KEY ("Ad ID", "Skill")
);
