import { createHash } from 'node:crypto';
import type { Refusal } from '../server/refusal.ts';

/** In which headers, and how, a proxy names the user of a request. */
export interface IdentityHeaders {
  /** Name of the header with the user. */
  user: string;
  /** Name of the header with the groups; undefined: users have none. */
  groups: string | undefined;
  /** What stands between groups on one line; '' if each is on its own line. */
  groupSeparator: string;
  /** What comes before each name, as in the API server's own `--oidc-username-prefix` and `--oidc-groups-prefix`. */
  userPrefix: string;
  groupPrefix: string;
}

/** Names and values of a request as they came, in turns: `rawHeaders` of Node. */
type Lines = readonly string[];

/** As long as the status of a pool accepts. */
const LONGEST_NAME = 256;
const MOST_GROUPS = 500;
/** Kubernetes' own. `system:masters` may do everything, whatever RBAC says. */
const RESERVED = 'system:';
/** The API server itself adds this group to each user that is impersonated. */
const IMPLIED = 'system:authenticated';
/** Controls, and what cannot be seen: a name that looks like another one belongs to another user. */
const INVISIBLE = /\p{C}/u;

/**
 * A user whom a trusted proxy has named. Everything is read and done in the name of one. It can be made only from the
 * headers of such a request, and nothing of a user can be read or done without one.
 */
export class Identity {
  readonly user: string;
  readonly groups: readonly string[];
  /** The same for the same user in the same groups, and for no other. */
  readonly key: string;

  private constructor(user: string, groups: readonly string[]) {
    this.user = user;
    this.groups = groups;
    this.key = createHash('sha256')
      .update(JSON.stringify([user, groups]))
      .digest('base64url');
  }

  /** Reads the headers of a request whose sender is known to be the proxy, or says why it names nobody. */
  static of(lines: Lines, headers: IdentityHeaders): Identity | Refusal {
    const users = linesOf(lines, headers.user);
    const groups = headers.groups === undefined ? [] : linesOf(lines, headers.groups);
    if (users === null || groups === null) return UNLIKE;
    const [user = '', another] = users;
    if (user === '') return { status: 401, sentence: `the proxy names no user in ${headers.user}` };
    // What joins repeated headers writes a comma between them.
    if (another !== undefined || user.includes(','))
      return { status: 400, sentence: `the proxy names several users in ${headers.user}` };
    const separated = groups.flatMap((line) =>
      headers.groupSeparator === '' ? [line] : line.split(headers.groupSeparator).map((name) => name.trim()),
    );
    const prefixed = separated.filter((name) => name !== '').map((name) => headers.groupPrefix + name);
    return Identity.#checked(
      headers.userPrefix + user,
      [...new Set(prefixed)].filter((name) => name !== IMPLIED),
    );
  }

  static #checked(user: string, groups: readonly string[]): Identity | Refusal {
    if (groups.length > MOST_GROUPS)
      return { status: 400, sentence: `the proxy names ${groups.length} groups: at most ${MOST_GROUPS} are allowed` };
    for (const name of [user, ...groups]) {
      if (name.length > LONGEST_NAME)
        return { status: 400, sentence: `the proxy names a user or group of more than ${LONGEST_NAME} characters` };
      if (INVISIBLE.test(name))
        return { status: 400, sentence: 'the proxy names a user or group with invisible characters' };
      if (name.startsWith(RESERVED))
        return {
          status: 403,
          sentence: `${name} is one of Kubernetes' own users and groups, and nobody gets their rights here`,
        };
    }
    return new Identity(user, groups.toSorted());
  }
}

const UNLIKE: Refusal = {
  status: 400,
  sentence: 'the headers about the user cannot be told apart: the proxy passes on headers that the browser has sent',
};

/**
 * Returns what each line of this name says. Null if there is a line whose name is like it, as with `_` in place of `-`:
 * some servers take both for the same, and a proxy may remove only the right one. Null, too, if it is not UTF-8.
 */
function linesOf(lines: Lines, name: string): string[] | null {
  const own = name.toLowerCase();
  const found: string[] = [];
  for (let index = 0; index < lines.length; index += 2) {
    const sent = lines[index]!.toLowerCase();
    if (sent.replaceAll(/[^a-z0-9]/g, '-') !== own.replaceAll(/[^a-z0-9]/g, '-')) continue;
    const text = sent === own ? decoded(lines[index + 1]!) : null;
    if (text === null) return null;
    found.push(text);
  }
  return found;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Node gives the bytes of a header as Latin-1. */
function decoded(value: string): string | null {
  try {
    return UTF8.decode(Buffer.from(value, 'latin1')).trim();
  } catch {
    return null;
  }
}
