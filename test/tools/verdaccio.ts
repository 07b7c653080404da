import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isProgram } from '../../dev/tools/find-tool.ts';
import { madeOnce, type MakeOptions } from '../../dev/tools/made-once.ts';

const SOURCES = fileURLToPath(new URL('verdaccio', import.meta.url));

/** Returns the path of a registry of npm: the one in the cache, which npm first installs if it is missing. */
export async function resolveVerdaccio(options: MakeOptions & { cache: string }): Promise<string> {
  const { dependencies } = JSON.parse(readFileSync(join(SOURCES, 'package.json'), 'utf8')) as {
    dependencies: { verdaccio: string };
  };
  const target = join(options.cache, 'tools', `verdaccio-${dependencies.verdaccio}`, 'verdaccio');
  if (isProgram(target)) return target;
  mkdirSync(dirname(dirname(target)), { recursive: true });
  return await madeOnce(target, options, async (program) => {
    const cwd = dirname(program);
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(SOURCES, file), join(cwd, file));
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd });
    symlinkSync('node_modules/verdaccio/bin/verdaccio', program);
  });
}
