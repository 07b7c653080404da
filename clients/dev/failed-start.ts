import { Failure } from '../cli/failure.ts';
import { note } from '../cli/print.ts';

/** Returns in one sentence why the stack did not start. If the message quotes a log after it, notes that log first. */
export function failedStart(error: unknown): Failure {
  const [first = '', ...log] = (error as Error).message.split('\n');
  const end = log.length === 0 ? -1 : first.lastIndexOf('; ');
  if (end === -1) return new Failure(first, { cause: error });
  note(`\n${first.slice(end + 2)}\n${log.join('\n')}\n`);
  return new Failure(first.slice(0, end), { cause: error });
}
