import { readFileSync, writeFileSync } from 'node:fs';
import { eachSetting } from '../workers/settings/settings.ts';

const PAGE = new URL('../docs/settings.md', import.meta.url);
const [BEGIN, END] = ['<!-- settings: generated from workers/settings/settings.ts -->\n', '<!-- end of settings -->'];

/** Returns docs/settings.md with the table of all settings. `node deploy/generate-settings.ts` writes it. */
export function settingsPage(): string {
  const page = readFileSync(PAGE, 'utf8');
  const rows = eachSetting().map(([name, { what, variable, flag, value, without, within }]) => {
    const range = within === undefined ? '' : `; ${within[0]} to ${within[1]}`;
    const byDefault = value === undefined ? without : `\`${value}\``;
    return `| \`${name}\` | \`${variable}\` | ${flag === undefined ? '' : `\`${flag}\``} | ${byDefault} | ${what}${range} |`;
  });
  const table = ['| setting | variable | flag | default | |', '|---|---|---|---|---|', ...rows].join('\n');
  return `${page.split(BEGIN)[0]}${BEGIN}\n${table}\n\n${END}${page.split(END)[1]}`;
}

if (import.meta.main) writeFileSync(PAGE, settingsPage());
