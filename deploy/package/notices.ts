import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allowedLicence } from './licences.ts';

interface Licensed {
  name: string;
  version: string;
  license: string;
  /** The text, as its authors give it. */
  text: string;
}

/** Returns the licences of all packages that the modules belong to, as their authors require of distributors. */
export function noticesOf(modules: readonly string[]): string {
  const folders = new Set(modules.map(packageFolder).filter((folder) => folder !== null));
  const packages = [...folders].map(licenseIn).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const sections = packages.map(
    ({ name, version, license, text }) => `## ${name} ${version} (${license})\n\n\`\`\`text\n${text.trim()}\n\`\`\`\n`,
  );
  return `# Notices\n\nThe \`drover\` command contains these packages.\n\n${sections.join('\n')}`;
}

function packageFolder(module: string): string | null {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(module)?.[0] ?? null;
}

function licenseIn(folder: string): Licensed {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
    license?: string;
  };
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file !== undefined && existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : '';
  const licence = allowedLicence(name, license);
  return { name, version, license: licence, text: text === '' ? `Licensed under ${licence}.` : text };
}
