import * as z from 'zod';
import { listed } from '../lib/listed.ts';
import { crossFieldRule, rules } from './text.ts';

/** At most one of the choices `T`: the type excludes two at once. */
type AtMostOne<T> = { [K in keyof T]: { [P in K]?: T[P] } & { [P in Exclude<keyof T, K>]?: never } }[keyof T];
/** Exactly one of the choices `T`. */
type ExactlyOne<T> = { [K in keyof T]: { [P in K]: T[P] } & { [P in Exclude<keyof T, K>]?: never } }[keyof T];

type Choices<S extends z.ZodRawShape> = { [K in keyof S]: z.infer<S[K]> };

const choice = (shape: z.ZodRawShape, allowed: (count: number) => boolean, rule: string, sentence: string) => {
  const names = Object.keys(shape);
  const partial = Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, z.exactOptional(schema)]));
  const count = names.map((name) => `(has(self.${name}) ? 1 : 0)`).join(' + ');
  const oneOf = crossFieldRule(
    z.strictObject(partial),
    (value) => allowed(names.filter((name) => name in value).length),
    sentence,
  );
  return oneOf.meta(rules([`${count} ${rule}`, sentence]));
};

export const atMostOne = <S extends z.ZodRawShape>(shape: S) =>
  choice(
    shape,
    (count) => count <= 1,
    '<= 1',
    `must hold at most one of ${listed(Object.keys(shape))}`,
  ) as unknown as z.ZodType<AtMostOne<Choices<S>>>;

export const exactlyOne = <S extends z.ZodRawShape>(shape: S) =>
  choice(
    shape,
    (count) => count === 1,
    '== 1',
    `must hold exactly one of ${listed(Object.keys(shape))}`,
  ) as unknown as z.ZodType<ExactlyOne<Choices<S>>>;
