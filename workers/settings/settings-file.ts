import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { utf8Text } from '../../api/lib/utf8-text.ts';
import { check } from '../../api/manifest/check.ts';
import { formatPath, ManifestErrors } from '../../api/manifest/problem.ts';
import { whyUnreadable } from '../../api/manifest/unreadable.ts';
import { readDocuments } from '../../api/manifest/yaml-documents.ts';
import { fileSchema } from './schema.ts';
import { eachSetting, type SettingName } from './settings.ts';

/** What the settings file says, as text, and where. */
type SettingsFile = Map<SettingName, { text: string; location: string }>;

/** Reads a settings file. Throws `ManifestErrors` with a sentence for each problem. */
export function readSettingsFile(path: string, home: string | undefined): SettingsFile {
  const problem = (message: string, location: object = {}): ManifestErrors =>
    new ManifestErrors([{ source: path, document: 0, path: '', message, ...location }]);
  const [document, second] = readDocuments(textOf(path, problem));
  if (document === undefined) return new Map();
  const [fault] = document.faults;
  if (fault !== undefined) throw problem(fault.message, fault);
  if (second !== undefined) throw problem('must have one document, without ---', { line: second.lineOf([]) });
  const { value, lineOf, written } = document;
  const findings = check(fileSchema(), value, { written, hint: () => undefined });
  if (findings.length > 0)
    throw new ManifestErrors(
      findings.map(({ path: at, message }) => ({
        source: path,
        document: 0,
        line: lineOf(at),
        path: formatPath(at),
        message: message.replace('unknown field', 'unknown setting'),
      })),
    );
  const said: SettingsFile = new Map();
  for (const [name, { isPath }] of eachSetting()) {
    const at = name.split('.');
    const found = valueAt(value, at);
    if (found === undefined) continue;
    const text = String(found);
    const absolute = text.startsWith('~/') ? join(home ?? '/', text.slice(2)) : resolve(dirname(path), text);
    said.set(name, { text: isPath === true ? absolute : text, location: `${path}:${lineOf(at)}` });
  }
  return said;
}

/** By its schema, the file has nothing else at the place of a setting. */
const valueAt = (value: unknown, path: readonly string[]): string | number | string[] | undefined =>
  path.reduce<unknown>((node, part) => (node as Record<string, unknown> | undefined)?.[part], value) as
    | string
    | number
    | string[]
    | undefined;

function textOf(path: string, problem: (message: string) => ManifestErrors): string {
  try {
    return utf8Text(readFileSync(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw problem('settings file not found');
    throw problem(code === 'EISDIR' ? 'must be a file, found a folder' : `can't be read: ${whyUnreadable(error)}`);
  }
}
