import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { OLDEST_KUBERNETES } from '../../clients/version/skew.ts';
import { catalog, versionIn } from '../../dev/tools/catalog.ts';

const project = resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(resolve(project, file), 'utf8');
const [, table = ''] = /## Which versions work together\n([\s\S]*?)\n\n[^|]/.exec(read('docs/upgrade.md')) ?? [];
/** The cells of the row of this part, after its name. */
const row = (part: string): string[] =>
  table
    .split('\n')
    .find((line) => line.startsWith(`| ${part}`))!
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim());

test('the versions that docs/upgrade.md names are those of the tests and of the code', () => {
  const { temporal, ...tools } = catalog();
  const { kubeVersion } = parse(read('deploy/Chart.yaml')) as { kubeVersion: string };
  const [kubernetes, tested] = row('Kubernetes');
  expect(kubernetes).toMatch(new RegExp(`^${OLDEST_KUBERNETES.join('\\.')};.* ${kubeVersion.slice(2, 6)} on`));
  expect(tested).toBe(tools['kube-apiserver'].version);
  const server = /temporalio\/server:(\S+)/.exec(read('docker-compose.yml'))![1];
  expect(row('Temporal')).toEqual([temporal.least.join('.'), server]);
  expect(row('KubeVirt')[1]).toContain(/VERSION = 'v([\d.]+)/.exec(read('simulator/api/register.ts'))![1]);
  expect(row('Helm')[1]).toBe(versionIn(resolve(project, 'test/tools/helm'), 'helm.sh/helm/v4'));
});

test('the versions of Node that docs/upgrade.md names are those of the package and of its test', () => {
  const [least, tested] = row('Node');
  expect(read('deploy/package/build.ts')).toContain(`node: '>=${least}'`);
  expect(read('test/deploy/package/package.int.test.ts')).toContain(
    `[${tested!.replace(' and', ',').match(/\d+/g)!.join(', ')}]`,
  );
});
