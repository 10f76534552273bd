prepare() {
    {
        echo 'CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, value REAL);'
        for n in $(seq "${SQLITE_INSERTS:-300}"); do
            echo "INSERT INTO item(name, value) VALUES('the name of item $n', $n.5);"
        done
    } >/run/inserts.sql
}

work() {
    try sqlite3 -init /run/inserts.sql "$MNT/data.db" .quit
}
