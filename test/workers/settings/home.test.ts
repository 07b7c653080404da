import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const HOME = new URL('../../../workers/settings/home.ts', import.meta.url).href;
/** Such a user may not be able to read this project, so the process becomes that user once it has loaded everything. */
const PROGRAM = `
  import { homedir } from 'node:os';
  import { ensureHome } from ${JSON.stringify(HOME)};
  delete process.env.HOME;
  process.setuid(54_321);
  ensureHome(process.env);
  console.log(homedir());
`;

test.runIf(process.getuid?.() === 0)('a user without a home and without an account gets a home', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', PROGRAM]);
  expect(stdout).toBe('/\n');
});
