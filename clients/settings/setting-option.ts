import { Option } from 'commander';
import type { Setting } from '../../workers/settings/setting.ts';

/** The flag of a setting, with what holds without it. */
export function settingOption({ flag, what, value, without, within, isPath }: Setting): Option {
  const kind = within === undefined ? 'text' : 'number';
  const otherwise = value ?? without ?? '';
  const text = `${what} (${otherwise.startsWith('must ') ? otherwise : `default: ${otherwise}`})`;
  return new Option(`${flag} <${isPath === true ? 'file' : kind}>`, text.replaceAll('`', ''));
}
