CREATE TABLE severities (
  code INTEGER PRIMARY KEY,
  label TEXT NOT NULL,
  meaning TEXT
);
CREATE TABLE services (
  name TEXT PRIMARY KEY,
  "owner team" TEXT NOT NULL,
  tier INTEGER,
  language TEXT
);
CREATE TABLE "Incidents" (
  "Incident ID" TEXT PRIMARY KEY,
  "Started At" TEXT NOT NULL,
  "Resolved At" TEXT,
  "Severity" INTEGER NOT NULL REFERENCES severities (code),
  "Service" TEXT NOT NULL REFERENCES services (name),
  "Team" TEXT,
  "Region" TEXT,
  "Minutes Down" INTEGER,
  "Customers Affected" INTEGER,
  "Root Cause" TEXT,
  "Report" TEXT
);
