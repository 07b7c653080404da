import * as z from 'zod';
import { rules } from './text.ts';

/** Of the choices `T`, one at most: a value that holds two can't be written. */
export type AtMostOne<T> = { [K in keyof T]: { [P in K]?: T[P] } & { [P in Exclude<keyof T, K>]?: never } }[keyof T];
/** Of the choices `T`, exactly one. */
export type ExactlyOne<T> = { [K in keyof T]: { [P in K]: T[P] } & { [P in Exclude<keyof T, K>]?: never } }[keyof T];

type Choices<S extends z.ZodRawShape> = { [K in keyof S]: z.infer<S[K]> };

const choice = (shape: z.ZodRawShape, allowed: (count: number) => boolean, rule: string, sentence: string) => {
  const names = Object.keys(shape);
  const chosen = (value: unknown): string[] => names.filter((name) => typeof value === 'object' && value !== null && name in value);
  const count = names.map((name) => `(has(self.${name}) ? 1 : 0)`).join(' + ');
  const partial = Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, z.exactOptional(schema)]));
  return z
    .strictObject(partial)
    .refine((value) => allowed(chosen(value).length), { error: sentence, when: () => true })
    .meta(rules([`${count} ${rule}`, sentence]));
};

const listed = (shape: z.ZodRawShape): string => Object.keys(shape).join(', ').replace(/, ([^,]*)$/, ' and $1');

export const atMostOne = <S extends z.ZodRawShape>(shape: S) =>
  choice(shape, (count) => count <= 1, '<= 1', `must hold at most one of ${listed(shape)}`) as unknown as z.ZodType<AtMostOne<Choices<S>>>;

export const exactlyOne = <S extends z.ZodRawShape>(shape: S) =>
  choice(shape, (count) => count === 1, '== 1', `must hold exactly one of ${listed(shape)}`) as unknown as z.ZodType<ExactlyOne<Choices<S>>>;
