import { Failure } from '../cli/failure.ts';
import { note } from '../cli/output.ts';

/**
 * Why the stack did not start, as one sentence; a log that the message quotes after it is shown before, line by line.
 */
export function failedStart(error: unknown): Failure {
  const [first = '', ...log] = (error as Error).message.split('\n');
  const end = log.length === 0 ? -1 : first.lastIndexOf('; ');
  if (end === -1) return new Failure(first, { cause: error });
  note(`\n${first.slice(end + 2)}\n${log.join('\n')}\n`);
  return new Failure(first.slice(0, end), { cause: error });
}
