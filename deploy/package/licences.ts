import { readFileSync } from 'node:fs';

/** Licences, by SPDX, of what may be passed on together with drover, which is under Apache-2.0. */
const ALLOWED = new Set(
  '0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 CC-BY-4.0 ISC MIT PSF-2.0 Unlicense'.split(' '),
);

/** Packages whose package.json names no licence, with that of the LICENSE file that they have. */
const IN_A_FILE: Record<string, string> = { unionfs: 'Unlicense' };

/** What is used here of an entry of a package-lock.json. */
interface Locked {
  license?: string;
  dev?: boolean;
  /** A folder of this repository, which has an entry for itself. */
  link?: boolean;
}

/** Returns the licence of a package, mostly what its package.json says. Throws if it isn't known, or isn't allowed. */
export function allowedLicence(name: string, said: string | undefined): string {
  const licence = said ?? IN_A_FILE[name];
  if (licence === undefined) throw new Error(`${name} names no licence: it can't be passed on`);
  const isAllowed = licence
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((one) => ALLOWED.has(one)));
  if (!isAllowed)
    throw new Error(`${name} is licensed under ${licence}, which deploy/package/licences.ts doesn't allow`);
  return licence;
}

/** Returns how many packages are installed with drover. Throws an error that names all whose licence isn't allowed. */
export function checkLicences(packages: Record<string, Locked>): number {
  const installed = Object.entries(packages).filter(
    ([path, { dev, link }]) => path !== '' && dev !== true && link !== true,
  );
  const errors = installed.flatMap(([path, { license }]) => {
    try {
      allowedLicence(path.split('node_modules/').at(-1)!, license);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return installed.length;
}

/** What package-lock.json says of each package, by its path. */
export const lockedPackages = (): Record<string, Locked> =>
  (
    JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
      packages: Record<string, Locked>;
    }
  ).packages;

if (import.meta.main)
  process.stdout.write(`licences: all ${checkLicences(lockedPackages())} packages have an allowed one\n`);
