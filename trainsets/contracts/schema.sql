CREATE TABLE contract_types (
  cd TEXT PRIMARY KEY,
  descr TEXT NOT NULL
);
CREATE TABLE counterparties (
  id INTEGER PRIMARY KEY,
  nm TEXT NOT NULL,
  ctry TEXT,
  since INTEGER
);
CREATE TABLE contracts (
  cntr_no TEXT PRIMARY KEY,
  cp_id INTEGER NOT NULL REFERENCES counterparties (id),
  dept TEXT,
  typ TEXT NOT NULL REFERENCES contract_types (cd),
  sgn_dt TEXT,
  exp_dt TEXT,
  val_eur INTEGER,
  auto_rnw INTEGER NOT NULL CHECK (auto_rnw IN (0, 1)),
  stat TEXT CHECK (stat IN ('active', 'expired', 'terminated', 'suspended', 'draft')),
  body TEXT
);
CREATE TABLE amendments (
  cntr_no TEXT NOT NULL REFERENCES contracts (cntr_no),
  amd_no INTEGER NOT NULL,
  dt TEXT,
  delta_eur INTEGER,
  reason TEXT,
  PRIMARY KEY (cntr_no, amd_no)
);
