// Registers the module hooks of native tests: node --import register.mjs.

import { register } from "node:module";

register("./test_hooks.mjs", import.meta.url);
