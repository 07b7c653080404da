/** A log; `stderrLog` writes one line of JSON per entry to stderr. */
export interface Log {
  warn: (message: string) => void;
}

export const stderrLog: Log = {
  warn: (msg) =>
    void process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level: 'warn', msg })}\n`),
};
