// Reads the table of totals with pgx: a pool, parameters without casts, its binary formats, a batch, COPY.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

type Row struct {
	Customer string    `json:"customer"`
	N        int32     `json:"n"`
	Amount   string    `json:"amount"`
	Share    float64   `json:"share"`
	Seen     string    `json:"seen"`
	Day      string    `json:"day"`
	Clock    int64     `json:"clock"`
	Tags     []*string `json:"tags"`
	Counts   []*int32  `json:"counts"`
	Raw      string    `json:"raw"`
	Big      int64     `json:"big"`
	Active   bool      `json:"active"`
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ann(ctx context.Context, pool *pgxpool.Pool) Row {
	var row Row
	var amount pgtype.Numeric
	var seen, day time.Time
	var clock pgtype.Time
	var raw []byte
	err := pool.QueryRow(ctx, `SELECT customer, n, amount, share, seen, day, clock, tags, counts, raw, big, active
		FROM totals WHERE n > $1 AND seen < $2 AND amount <= $3 AND customer LIKE $4`,
		3, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), "99.5", "A%").Scan(
		&row.Customer, &row.N, &amount, &row.Share, &seen, &day, &clock, &row.Tags, &row.Counts, &raw, &row.Big, &row.Active)
	must(err)
	value, err := amount.Value()
	must(err)
	row.Amount = value.(string)
	row.Seen = seen.UTC().Format(time.RFC3339Nano)
	row.Day = day.Format(time.DateOnly)
	row.Clock = clock.Microseconds
	row.Raw = hex.EncodeToString(raw)
	return row
}

func names(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) []string {
	rows, err := pool.Query(ctx, sql, args...)
	must(err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(err)
	return found
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, fmt.Sprintf("postgres://ann@%s:%s/orion?sslmode=disable", os.Args[1], os.Args[2]))
	must(err)
	defer pool.Close()
	answer := map[string]any{"ann": ann(ctx, pool)}
	answer["any"] = names(ctx, pool, "SELECT customer FROM totals WHERE n = ANY($1) ORDER BY 1", []int32{3, 7})
	answer["between"] = names(ctx, pool,
		"SELECT customer FROM totals WHERE n BETWEEN $1 AND $2 AND n IN ($3, $4) ORDER BY 1 LIMIT $5 OFFSET $6", 1, 7, 3, 7, 10, 1)
	var more int32
	must(pool.QueryRow(ctx, "SELECT n + $1 FROM totals WHERE customer = $2", 10, "Ann").Scan(&more))
	answer["more"] = more
	batch := &pgx.Batch{}
	batch.Queue("SELECT count(*) FROM totals WHERE n < $1", 5)
	batch.Queue("SELECT count(*) FROM nested WHERE k = $1", 1)
	results := pool.SendBatch(ctx, batch)
	counts := make([]int64, 2)
	for at := range counts {
		must(results.QueryRow().Scan(&counts[at]))
	}
	must(results.Close())
	answer["counts"] = counts
	var failure *pgconn.PgError
	_, err = pool.Exec(ctx, "SELECT * FROM nowhere")
	if errors.As(err, &failure) {
		answer["refused"] = failure.Code
	}
	conn, err := pool.Acquire(ctx)
	must(err)
	var copied bytes.Buffer
	_, err = conn.Conn().PgConn().CopyTo(ctx, &copied, "COPY (SELECT customer, n FROM totals ORDER BY n) TO STDOUT (FORMAT csv)")
	must(err)
	answer["copied"] = copied.String()
	conn.Release()
	must(json.NewEncoder(os.Stdout).Encode(answer))
}
