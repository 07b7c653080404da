import { hostname, userInfo } from 'node:os';
import { plain } from './output.ts';

/** What a pool's status takes. */
const LONGEST = 256;

/** Who asks for a change, for the people who read it later: $DROVER_ASKED_BY, or `<user>@<host>`. No proof of anything. */
export function askedBy(environment: NodeJS.ProcessEnv = process.env): string {
  const given = plain(environment['DROVER_ASKED_BY'] ?? '').trim();
  return (given === '' ? `${userName()}@${hostname()}` : given).slice(0, LONGEST);
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return String(process.getuid?.() ?? 'somebody');
  }
}
