/** Largest declared file, bytes; 100,000 monitors need about 20 MiB. */
export const MAX_FILE_BYTES = 64 * 1_024 * 1_024;

/** Largest file that is inserted, bytes. */
export const MAX_INSERTED_BYTES = 1_024 * 1_024;
