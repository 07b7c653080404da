/** A log; `stderrLog` writes one line of JSON per entry to stderr. */
export interface Log {
  info: (message: string) => void;
  warn: (message: string) => void;
}

export const stderrLog: Log = { info: (message) => write('info', message), warn: (message) => write('warn', message) };

function write(level: string, msg: string): void {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, msg })}\n`);
}
