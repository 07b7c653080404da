import { expect, test } from 'vitest';
import type { Finding } from '../../../clients/doctor/finding.ts';
import { droverHere } from '../in-process.ts';

test('without servers, `drover doctor` says what does not answer, and does not guess at the rest', async () => {
  const nothing = ['--address', '127.0.0.1:1', '--kubeconfig', '/nonexistent'];
  const { code, stdout, stderr } = await droverHere(['doctor', '-o', 'json', ...nothing]);
  const { items } = JSON.parse(stdout) as { items: Finding[] };
  const failed = items.filter(({ outcome }) => outcome === 'Failed');
  expect(failed.map(({ check }) => check)).toEqual(['API server', 'Temporal']);
  for (const { fix } of failed) expect(fix).toMatch(/\w/);
  expect(items.filter(({ outcome }) => outcome !== 'Failed' && outcome !== 'Unknown')).toEqual([]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'error: 15 checks: 2 failed, 13 unknown\n' });
});

test.each(['drover', 'a/b/c', '/x'])(
  'a ServiceAccount %j is refused, and what would be right is said',
  async (account) => {
    const { code, stderr } = await droverHere(['doctor', '--worker', account]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Give NAMESPACE/NAME.') as string,
    });
  },
);
