import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Assets } from '../../../clients/dashboard/server/assets.ts';

let folder = '';
const assets = (): Assets =>
  new Assets({ page: join(folder, 'page'), contract: join(folder, 'contract'), lib: join(folder, 'node_modules') });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
  for (const name of ['page', 'contract', 'node_modules/lit-html', 'node_modules/zod'])
    mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(
    join(folder, 'page/index.html'),
    '<script type="importmap">{}</script><script src="/page/a.ts"></script>',
  );
  writeFileSync(join(folder, 'page/a.ts'), 'const a: number = 1;\n');
  writeFileSync(join(folder, 'page/.secret.json'), '{}');
  writeFileSync(join(folder, 'outside.ts'), '');
  writeFileSync(join(folder, 'node_modules/lit-html/lit-html.js'), 'export {}');
  writeFileSync(join(folder, 'node_modules/zod/index.js'), 'export {}');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('files of the page', () => {
  test('are served as JavaScript if they are TypeScript, with each line and column in its place', async () => {
    expect(await assets().read('/page/a.ts')).toEqual({
      type: 'text/javascript; charset=utf-8',
      body: 'const a         = 1;\n',
    });
    expect((await assets().read('/lib/lit-html/lit-html.js'))?.type).toContain('javascript');
  });

  test.each([
    '/page/../outside.ts',
    '/page//../outside.ts',
    '/page/%2e%2e/outside.ts',
    '/page/.secret.json',
    '/page/missing.ts',
    '/page',
    '/lib/zod/index.js',
    '/lib/lit-html/../zod/index.js',
    '/outside.ts',
    '/constructor/a.ts',
  ])('do not include %s', async (path) => {
    expect(await assets().read(path)).toBeNull();
  });

  test('may have inline scripts, which CSP then knows by their hashes', async () => {
    expect(await assets().inlineScripts()).toEqual(["'sha256-RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o='"]);
  });
});
