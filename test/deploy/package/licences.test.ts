import { expect, test } from 'vitest';
import { allowedLicence, checkLicences, lockedPackages } from '../../../deploy/package/licences.ts';
import packageLock from '../../../package-lock.json' with { type: 'json' };
import packageJson from '../../../package.json' with { type: 'json' };

test('each package that is installed with drover has a licence that is allowed', () => {
  expect(checkLicences(lockedPackages())).toBeGreaterThan(100);
});

test('all packages with another licence, or none, are named; those of development are not', () => {
  const packages = {
    '': { license: 'Apache-2.0' },
    'node_modules/good': { license: 'MIT' },
    'node_modules/@scope/copyleft': { license: 'GPL-3.0-only' },
    'node_modules/good/node_modules/silent': {},
    'node_modules/tool': { license: 'MPL-2.0', dev: true },
  };
  expect(() => checkLicences(packages)).toThrow(
    /^@scope\/copyleft is licensed under GPL-3\.0-only, which .* doesn't allow\nsilent names no licence: .*$/,
  );
});

test.each([
  ['(MIT OR GPL-2.0-only)', true],
  ['Apache-2.0 AND MIT', true],
  ['MIT AND GPL-2.0-only', false],
])('the expression %s needs one choice that is allowed whole: %s', (expression, isAllowed) => {
  const ask = (): string => allowedLicence('it', expression);
  if (isAllowed) expect(ask()).toBe(expression);
  else expect(ask).toThrow(/it is licensed under/);
});

test('npm installs nothing that the lock file has no checksum for', () => {
  const { '': _, ...packages } = packageLock.packages as Record<
    string,
    { integrity?: string; link?: boolean; hasInstallScript?: boolean }
  >;
  const installed = Object.entries(packages).filter(([path, { link }]) => path.startsWith('node_modules/') && !link);
  expect(installed.filter(([, { integrity }]) => integrity === undefined)).toEqual([]);
  // A script could download anything.
  const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(packageJson.allowScripts).toEqual(
    Object.fromEntries(scripted.map(([path]) => [path.split('node_modules/').at(-1)!, false])),
  );
});
