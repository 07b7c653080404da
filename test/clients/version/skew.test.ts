import { describe, expect, test } from 'vitest';
import { skewOf } from '../../../clients/version/skew.ts';
import type { Versions } from '../../../clients/version/versions.ts';

const same: Required<Versions> = {
  client: '0.2.0',
  definitions: '0.2.0',
  workers: ['0.2.0'],
  temporal: '1.29.1',
  kubevirt: 'v1.8.0',
  kubernetes: 'v1.35.4',
};
const unknown = { unknown: 'the server does not answer' };

describe('versions that do not go together are reported', () => {
  test.each([
    ['nothing', same, []],
    [
      'workers of two versions',
      { ...same, workers: ['0.1.0', '0.2.0'] },
      [/^workers of 2 versions .*0\.1\.0, 0\.2\.0/],
    ],
    ['older workers', { ...same, workers: ['0.1.0'], definitions: '0.1.0' }, [/^the workers run drover 0\.1\.0/]],
    [
      'older definitions',
      { ...same, definitions: '0.1.0' },
      [/^the definitions come from drover 0\.1\.0.*`drover setup`/],
    ],
    [
      'a newer command',
      { ...same, client: '0.3.0', workers: [] },
      [/^the definitions .* this command is drover 0\.3\.0/],
    ],
    ['an old Kubernetes', { ...same, kubernetes: 'v1.29.3+k3s1' }, [/^Kubernetes is older than 1\.30/]],
    ['the oldest Kubernetes', { ...same, kubernetes: 'v1.30.0' }, []],
    ['servers that do not tell', { ...same, definitions: unknown, workers: unknown, kubernetes: unknown }, []],
    ['a cluster without drover', { ...same, definitions: null, workers: [] }, []],
  ] satisfies [string, Versions, RegExp[]][])('are told of %s', (_, versions, expected) => {
    const told = skewOf(versions);
    expect(told).toHaveLength(expected.length);
    for (const [index, sentence] of expected.entries()) expect(told[index]).toMatch(sentence);
  });
});
