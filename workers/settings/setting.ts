/** What a setting is for, what it may be, and its default value, or what happens `without` it. */
export interface Setting {
  what: string;
  /** Its environment variable. */
  variable: string;
  /**
   * Its flag, without what follows: of every command, of `drover worker` if its name begins with `worker.`, or of
   * `drover dashboard` if it begins with `dashboard.`.
   */
  flag?: string;
  value?: string;
  without?: string;
  /** The least and the greatest whole number that it may be. */
  within?: readonly [least: number, most: number];
  oneOf?: readonly string[];
  /** What its text, or each in its list, must match, and that in words. */
  like?: { pattern: RegExp; must: string };
  /** A text with commas in it. */
  isList?: true;
  isPath?: true;
}

/** The names of namespaces in Kubernetes. */
export const NAMES = {
  pattern: /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
  must: 'must be the names of namespaces',
};
