-- A user who can read the log table and nothing else: run this as root of the database server.

CREATE USER 'leitstand_reader'@'127.0.0.1' IDENTIFIED BY 'secret';
GRANT SELECT ON webtrees.wt_log TO 'leitstand_reader'@'127.0.0.1';
