import { emptyHistogram } from '../../verdict/latency-histogram.ts';
import { onlyInPostgres } from '../dialect.ts';

/*
 * What only a database of PostgreSQL has. The aggregate `merged_histogram` is the sum of stored histograms of
 * latencies (nulls are skipped), as `verdict/latency-histogram.ts` encodes it. SQLite gets it and the clock from
 * `sqlite/statements.ts`.
 */

const BUCKETS = emptyHistogram().length;

export const POSTGRES_ONLY = [
  // SQLite needs a cast after joining bytes, and has this name for them.
  'CREATE DOMAIN blob AS bytea',
  // The mark of the last commit of each process that writes, see `postgres/postgres-writer.ts`.
  `CREATE TABLE last_commits (process bigint PRIMARY KEY, mark text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp())`,
  // The database's clock, epoch ms; not the time at which the transaction began.
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
