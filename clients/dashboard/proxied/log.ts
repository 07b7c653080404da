/** Writes a line of JSON to stderr, as workers do. */
export function log(level: 'info' | 'warn', msg: string, about: object = {}): void {
  process.stderr.write(`${JSON.stringify({ level, time: Date.now(), pid: process.pid, ...about, msg })}\n`);
}
