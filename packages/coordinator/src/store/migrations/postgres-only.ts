import { emptyHistogram } from '../../verdict/latency-histogram.ts';
import { DAY_MS } from '../../verdict/summary-range.ts';
import { onlyInPostgres } from '../dialect.ts';

/*
 * Definitions that only a PostgreSQL database has. The aggregate `merged_histogram` adds up stored latency
 * histograms in the encoding of `verdict/latency-histogram.ts`, and skips nulls. For SQLite,
 * `sqlite/statements.ts` registers this aggregate, the database's clock and `keep_result_day`.
 */

const BUCKETS = emptyHistogram().length;

export const POSTGRES_ONLY = [
  // The table of results has one partition per day (UTC), and the retention drops whole partitions. The partition
  // of the slot's day is created if it is missing, and that of the next day ahead of time. A partition is created
  // as a separate table and then attached, so that reads are not blocked.
  // Each region that reports later rewrites the row of the slot. So a partition is vacuumed after a fixed
  // number of rewritten rows, at most once a minute, and not only when a fifth of its rows has changed. With
  // this setting a result takes 69 bytes instead of 95 (test/bench/result-bytes.ts).
  `CREATE FUNCTION keep_result_day(slot bigint) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      from_slot bigint;
      part text;
    BEGIN
      FOR ahead IN 0..1 LOOP
        from_slot := (floor(slot / ${DAY_MS}.0) + ahead) * ${DAY_MS};
        part := 'slot_results_' || to_char(to_timestamp(from_slot / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD');
        CONTINUE WHEN to_regclass(part) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE slot_results INCLUDING ALL)
          WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000)', part);
        EXECUTE format('ALTER TABLE slot_results ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
          part, from_slot, from_slot + ${DAY_MS});
      END LOOP;
    END $$`,
  // A drop waits for the end of all transactions that read results. Writes and later reads wait behind the drop,
  // and a dump keeps its reads of all tables until its end. So the drop gives up after a second, before a leader's
  // lease expires.
  `CREATE FUNCTION drop_result_day(until bigint) RETURNS bigint LANGUAGE plpgsql SET lock_timeout = '1s' AS $$
    DECLARE
      part record;
    BEGIN
      SELECT oid, relname, greatest(CAST(reltuples AS bigint), 1) AS about INTO part FROM pg_class
        WHERE oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('slot_results'))
        ORDER BY relname LIMIT 1;
      IF part IS NULL OR to_timestamp(until / 1000.0) AT TIME ZONE 'UTC'
        < to_date(right(part.relname, 8), 'YYYYMMDD') + 1 THEN
        RETURN 0;
      END IF;
      EXECUTE format('DROP TABLE %I', part.relname);
      RETURN part.about;
    END $$`,
  // The type `blob` exists because queries cast joined bytes to it: SQLite needs this cast, and `blob` is its
  // name for bytes.
  'CREATE DOMAIN blob AS bytea',
  // For each writing process, the mark of its last commit, see `postgres/postgres-writer.ts`.
  `CREATE TABLE last_commits (process bigint PRIMARY KEY, mark text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp())`,
  // The present time on the database's clock, epoch ms, and not the time at which the transaction began.
  `CREATE FUNCTION database_now() RETURNS bigint LANGUAGE sql VOLATILE
    AS $$ SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) $$`,
  `CREATE FUNCTION histogram_add(counts bigint[], histogram bytea) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
    DECLARE
      at integer := 0;
      bucket integer;
      byte integer;
      count bigint;
      shift integer;
    BEGIN
      WHILE at < length(histogram) LOOP
        bucket := get_byte(histogram, at) + 1;
        count := 0;
        shift := 0;
        LOOP
          at := at + 1;
          byte := get_byte(histogram, at);
          count := count | (CAST(byte & 127 AS bigint) << shift);
          EXIT WHEN byte <= 127;
          shift := shift + 7;
        END LOOP;
        at := at + 1;
        counts[bucket] := counts[bucket] + count;
      END LOOP;
      RETURN counts;
    END $$`,
  `CREATE FUNCTION histogram_encode(counts bigint[]) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
    DECLARE
      digits text := '';
      rest bigint;
    BEGIN
      FOR bucket IN 1..${BUCKETS} LOOP
        rest := counts[bucket];
        CONTINUE WHEN rest = 0;
        digits := digits || lpad(to_hex(bucket - 1), 2, '0');
        WHILE rest > 127 LOOP
          digits := digits || to_hex((rest & 127) | 128);
          rest := rest >> 7;
        END LOOP;
        digits := digits || lpad(to_hex(rest), 2, '0');
      END LOOP;
      RETURN decode(nullif(digits, ''), 'hex');
    END $$`,
  `CREATE AGGREGATE merged_histogram(bytea) (
    SFUNC = histogram_add, STYPE = bigint[], FINALFUNC = histogram_encode,
    INITCOND = '{${Array(BUCKETS).fill(0).join()}}')`,
].map(onlyInPostgres);
