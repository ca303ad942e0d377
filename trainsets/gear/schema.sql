CREATE TABLE products (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  category TEXT,
  price REAL,
  discontinued INTEGER NOT NULL DEFAULT 0 CHECK (discontinued IN (0, 1))
);
CREATE TABLE customers (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  city TEXT,
  country TEXT
);
CREATE TABLE orders (
  order_no TEXT PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  ordered TEXT NOT NULL,
  channel TEXT
);
CREATE TABLE order_lines (
  order_no TEXT NOT NULL REFERENCES orders (order_no),
  line_no INTEGER NOT NULL,
  product_id INTEGER NOT NULL REFERENCES products (id),
  qty INTEGER NOT NULL,
  unit_price REAL NOT NULL,
  PRIMARY KEY (order_no, line_no)
);
CREATE TABLE reviews (
  id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL REFERENCES products (id),
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  stars INTEGER CHECK (stars BETWEEN 1 AND 5),
  posted TEXT,
  headline TEXT,
  review_text TEXT
);
