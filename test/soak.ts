/** True in `npm run test:soak`, which runs crash and chaos tests at full length. */
export const isSoak = process.env['DROVER_TEST_SOAK'] !== undefined;

/** Returns a size of a test, or a time: the short one unless this is a soak run. */
export const soak = <T>(full: T, short: T): T => (isSoak ? full : short);
