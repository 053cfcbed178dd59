"use strict";
// Every file adds one object to Report; nothing else is global.
const Report = {};
globalThis.Report = Report;
