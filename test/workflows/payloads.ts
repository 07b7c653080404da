/** A verdict as a pool sends it to a healing cycle. */
export const healVerdict = {
  verdict: 'Gone',
  attempt: 1,
  rules: { backoff: { initial: '30s', factor: 2, max: '1h', jitter: 0.1 }, maxAttempts: null },
};
