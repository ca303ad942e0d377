CREATE TABLE customers (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  plan TEXT,
  country TEXT,
  since TEXT
);
CREATE TABLE products (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  category TEXT,
  list_price REAL
);
CREATE TABLE tickets (
  tkt_no TEXT PRIMARY KEY,
  opened TEXT NOT NULL,
  closed TEXT,
  prio TEXT,
  stat TEXT,
  cust_id INTEGER REFERENCES customers (id),
  prod_id INTEGER REFERENCES products (id),
  agent TEXT,
  channel TEXT,
  subject TEXT,
  body TEXT,
  resolution TEXT,
  csat INTEGER
);
