import { expect, test } from 'vitest';
import { droverHere } from '../in-process.ts';

test.each<[line: string, says: string]>([
  ['adopt pool web', 'which VMs for pool web? Give their names, or -l SELECTOR'],
  ['adopt pool web web-1 -l a=b', 'web-1: give either names or -l'],
  ['adopt pool web -l a>b', 'is not a valid label selector'],
  ['adopt vmrs/web a', 'and this command takes pool'],
  ['takeover pool web', '"pool" is a pool, and this command takes vmpool'],
  ['takeover vmpool web db', 'web db: one vmpool at a time'],
  ['takeover vmpool', 'which vmpool? Give its name'],
  ['release vmpool web', 'did you mean pool?'],
  ['detach web-1 WEB', '"WEB" is not a valid object name'],
  ['detach', "missing required argument 'vms'"],
  ['attach web-1 --timeout 0', 'Give a duration greater than 0'],
])('drover %s is refused before any request', async (line, says) => {
  const { code, stderr } = await droverHere(line.split(' '));
  expect(stderr).toContain(says);
  expect(code).toBe(2);
});
