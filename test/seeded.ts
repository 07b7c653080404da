let seed: number | undefined;

/**
 * Returns the seed of this test file, from `DROVER_TEST_SEED` or a new one, and prints it so that a failure can be
 * reproduced.
 */
export function seedOf(): number {
  seed ??= Number(process.env['DROVER_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`DROVER_TEST_SEED=${seed}`);
  return seed;
}

/** Returns a generator of numbers in [0, 1), the same ones for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
