CREATE TABLE diagnoses (
  code TEXT PRIMARY KEY,
  label TEXT NOT NULL,
  body_system TEXT
);
CREATE TABLE animals (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  species TEXT NOT NULL,
  breed TEXT,
  born TEXT,
  owner TEXT NOT NULL
);
CREATE TABLE visits (
  id INTEGER PRIMARY KEY,
  animal_id INTEGER NOT NULL REFERENCES animals (id),
  vet TEXT NOT NULL,
  visited TEXT NOT NULL,
  reason TEXT,
  dx TEXT REFERENCES diagnoses (code),
  weight_kg REAL,
  fee REAL,
  follow_up_on TEXT,
  note TEXT NOT NULL,
  owner_said TEXT
);
