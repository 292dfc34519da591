// Version of the SDK, as in package.json.
export const VERSION = "0.2.0";
