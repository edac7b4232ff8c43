-- The table as webtrees makes it, on MariaDB, to try the example without webtrees.

CREATE TABLE wt_log (
    log_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    log_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    log_type ENUM('auth', 'config', 'debug', 'edit', 'error', 'media', 'search') NOT NULL,
    log_message LONGTEXT NOT NULL,
    ip_address VARCHAR(45) NOT NULL,
    user_id INT NULL,
    gedcom_id INT NULL,
    KEY wt_log_ix1 (log_time),
    KEY wt_log_ix2 (log_type)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
