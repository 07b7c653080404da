import * as z from 'zod';
import type { Setting } from './setting.ts';
import { SETTINGS, type SettingName } from './settings.ts';

/** What a setting may be. */
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

/** Reads a text as what its schema takes. */
export function valueOf({ within, isList }: Setting, text: string): unknown {
  if (isList === true) return [...new Set(text.split(',').map((part) => part.trim()))];
  return within !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}
