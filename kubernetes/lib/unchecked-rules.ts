/** What the API server adds to each error of an object that its schema refuses, without naming a fault itself. */
const UNCHECKED_RULES = new RegExp(
  ', <nil>: Invalid value: "?null"?: some validation rules were not checked because the object was invalid; ' +
    'correct the existing errors to complete validation',
  'g',
);

/** Returns the message without that. */
export const withoutUncheckedRules = (message: string): string => message.replaceAll(UNCHECKED_RULES, '');
