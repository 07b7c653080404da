import { describe, expect, test } from 'vitest';
import { Identity, type IdentityHeaders } from '../../../../clients/dashboard/proxied/identity.ts';

const FORWARDED: IdentityHeaders = {
  user: 'X-Forwarded-User',
  groups: 'X-Forwarded-Groups',
  groupSeparator: ',',
  userPrefix: '',
  groupPrefix: '',
};
/** As the API server itself reads them. */
const REMOTE: IdentityHeaders = { ...FORWARDED, user: 'X-Remote-User', groups: 'X-Remote-Group', groupSeparator: '' };

/** What the server makes of these lines, whose bytes Node gives as Latin-1. */
const read = (lines: [name: string, value: string][], headers = FORWARDED) =>
  Identity.of(
    lines.flatMap(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
    headers,
  );
const refused = (status: number, sentence: string) => ({
  status,
  sentence: expect.stringContaining(sentence) as string,
});

describe('a user is read', () => {
  test('from one line, with groups between commas', () => {
    const who = read([
      ['x-forwarded-user', 'ada@example.com'],
      ['X-Forwarded-Groups', 'ops, shop,,ops'],
      ['X-Forwarded-Email', 'other@example.com'],
    ]);
    expect(who).toMatchObject({ user: 'ada@example.com', groups: ['ops', 'shop'] });
  });

  test('with a line for each group, whose names may then have commas', () => {
    const who = read(
      [
        ['X-Remote-User', 'ada'],
        ['X-Remote-Group', 'cn=ops,ou=people'],
        ['X-Remote-Group', 'shop'],
      ],
      REMOTE,
    );
    expect(who).toMatchObject({ user: 'ada', groups: ['cn=ops,ou=people', 'shop'] });
  });

  test('with the prefixes that the API server puts before what an identity provider says', () => {
    const headers = { ...FORWARDED, userPrefix: 'oidc:', groupPrefix: 'oidc:' };
    const lines: [string, string][] = [
      ['X-Forwarded-User', 'ada'],
      ['X-Forwarded-Groups', 'system:masters'],
    ];
    expect(read(lines, headers)).toMatchObject({ user: 'oidc:ada', groups: ['oidc:system:masters'] });
  });

  test('in UTF-8', () => {
    expect(read([['X-Forwarded-User', 'jürgen@example.com']])).toMatchObject({ user: 'jürgen@example.com' });
  });

  test('without groups if there is no header for them, whatever is sent', () => {
    const lines: [string, string][] = [
      ['X-Forwarded-User', 'ada'],
      ['X-Forwarded-Groups', 'ops'],
    ];
    expect(read(lines, { ...FORWARDED, groups: undefined })).toMatchObject({ groups: [] });
  });

  test('without the group that the API server gives to everybody', () => {
    const lines: [string, string][] = [
      ['X-Forwarded-User', 'ada'],
      ['X-Forwarded-Groups', 'system:authenticated,ops'],
    ];
    expect(read(lines)).toMatchObject({ groups: ['ops'] });
  });
});

describe('nobody is read', () => {
  test.each([[[]], [[['X-Forwarded-User', '']]], [[['X-Forwarded-Groups', 'ops']]]] as [[string, string][]][])(
    'from %j, which names no user',
    (lines) => {
      expect(read(lines)).toEqual(refused(401, 'names no user in X-Forwarded-User'));
    },
  );

  test('from a repeated header, or one that was joined', () => {
    const twice: [string, string][] = [
      ['X-Forwarded-User', 'ada'],
      ['x-forwarded-user', 'root'],
    ];
    expect(read(twice)).toEqual(refused(400, 'several users'));
    expect(read([['X-Forwarded-User', 'ada, root']])).toEqual(refused(400, 'several users'));
  });

  // A proxy that sets X-Forwarded-User may let X_Forwarded_User through, which others take for the same.
  test.each(['X_Forwarded_User', 'x-forwarded_user', 'X.Forwarded-User', 'X_Forwarded_Groups'])(
    'if there is a line %s beside the right one',
    (name) => {
      const lines: [string, string][] = [
        ['X-Forwarded-User', 'ada'],
        [name, 'root'],
      ];
      expect(read(lines)).toEqual(refused(400, 'cannot be told apart'));
    },
  );

  test('from names of Kubernetes’ own', () => {
    expect(read([['X-Forwarded-User', 'system:admin']])).toEqual(refused(403, 'system:admin'));
    for (const group of ['system:masters', 'ops,system:masters', 'system:nodes', 'system:serviceaccounts:drover'])
      expect(
        read([
          ['X-Forwarded-User', 'ada'],
          ['X-Forwarded-Groups', group],
        ]),
      ).toEqual(refused(403, 'Kubernetes'));
    const headers = { ...FORWARDED, userPrefix: 'system:' };
    expect(read([['X-Forwarded-User', 'admin']], headers)).toEqual(refused(403, 'system:admin'));
  });

  test('from names that are too long, too many, or cannot be seen', () => {
    expect(read([['X-Forwarded-User', 'a'.repeat(257)]])).toEqual(refused(400, '256'));
    for (const name of ['ada\u200b', 'ada\u0085x', 'a\tda', '\u202eada'])
      expect(read([['X-Forwarded-User', name]])).toEqual(refused(400, 'invisible characters'));
    const groups = Array.from({ length: 501 }, (_, index) => `g${index}`).join(',');
    expect(
      read([
        ['X-Forwarded-User', 'ada'],
        ['X-Forwarded-Groups', groups],
      ]),
    ).toEqual(refused(400, '501 groups'));
  });

  test('from bytes that are no text', () => {
    expect(Identity.of(['X-Forwarded-User', 'ada\u00ff'], FORWARDED)).toEqual(refused(400, 'told apart'));
  });
});

test('each user in the same groups has one key, and no other has it', () => {
  const keys = (
    [
      ['ada', 'ops,shop'],
      ['ada', 'shop,ops,ops'],
      ['ada', 'ops'],
      ['ada', ''],
      ['ops', 'ada'],
      ['ada","ops', ''],
    ] as const
  ).map(([user, groups]) => {
    const who = read([
      ['X-Forwarded-User', user.replaceAll(',', ';')],
      ['X-Forwarded-Groups', groups],
    ]);
    return who instanceof Identity ? who.key : '';
  });
  expect(keys).not.toContain('');
  expect(new Set(keys).size).toBe(5);
  expect(keys[0]).toBe(keys[1]);
});
