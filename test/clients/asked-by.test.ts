import { hostname, userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { askedBy } from '../../clients/asked-by.ts';

test('who asks is the user of this machine, or whoever the environment names', () => {
  const here = `${userInfo().username}@${hostname()}`;
  expect(askedBy({})).toBe(here);
  expect(askedBy({ DROVER_ASKED_BY: ' ' })).toBe(here);
  expect(askedBy({ DROVER_ASKED_BY: 'ci: deploy of 42\n' })).toBe('ci: deploy of 42');
});

test('a name is no longer than a status takes', () => expect(askedBy({ DROVER_ASKED_BY: 'x'.repeat(300) })).toHaveLength(256));
