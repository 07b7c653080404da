import * as z from 'zod';
import type { Setting } from './setting.ts';
import { eachSetting, SETTINGS, type SettingName } from './settings.ts';

/** What a setting may be in the settings file. */
export function schemaOf({ within, oneOf, like, isList }: Setting): z.ZodType {
  if (within !== undefined) {
    const must = `must be a whole number from ${within[0]} to ${within[1]}`;
    return z.int(must).min(within[0], must).max(within[1], must);
  }
  if (oneOf !== undefined) return z.enum(oneOf);
  const text = like === undefined ? z.string().min(1) : z.string().regex(like.pattern, like.must);
  return isList === true ? z.array(text).min(1) : text;
}

/** Returns what is wrong with a setting that is given as text, by a variable or a flag; undefined if nothing is. */
export function faultOf(name: SettingName, text: string): string | undefined {
  const setting: Setting = SETTINGS[name];
  const result = schemaOf(setting).safeParse(valueOf(setting, text));
  if (result.success) return undefined;
  const [issue] = result.error.issues;
  if (issue?.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  return setting.isList === true ? `${issue?.message}, with commas between them` : issue?.message;
}

/** Reads a text as the settings file would have it. */
export function valueOf({ within, isList }: Setting, text: string): unknown {
  if (isList === true) return [...new Set(text.split(',').map((part) => part.trim()))];
  return within !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}

/** The whole settings file: each setting may be missing. */
export function fileSchema(): z.ZodType {
  const groups: Record<string, Record<string, z.ZodType>> = { '': {} };
  for (const [name, setting] of eachSetting()) {
    const [last = '', group = ''] = name.split('.').toReversed();
    (groups[group] ??= {})[last] = schemaOf(setting).optional();
  }
  const { '': alone, ...grouped } = groups;
  const nested = Object.entries(grouped).map(([group, fields]) => [group, z.strictObject(fields).optional()]);
  return z.strictObject({ ...alone, ...(Object.fromEntries(nested) as Record<string, z.ZodType>) });
}
