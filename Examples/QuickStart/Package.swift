// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// The README's programs, word for word, in a typical package of a user; the quick start once with the umbrella, once with
// single modules. `Scripts/docs` compares the text, `./check` runs all, the first one against the server of `Scripts/readme`,
// the others against one in their own process. OnePart has one part of PulseNetworking, and is compiled only.
let package = Package(
    name: "QuickStart",
    platforms: [.iOS(.v15), .macOS(.v12)],
    dependencies: [.package(name: "PulseKit", path: "../..")],
    targets: [
        .executableTarget(
            name: "Umbrella",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
        .executableTarget(name: "FirstProgram", dependencies: [.product(name: "PulseKit", package: "PulseKit")]),
        .executableTarget(
            name: "SingleModules",
            dependencies: [
                .product(name: "PulseCore", package: "PulseKit"),
                .product(name: "PulseNetworking", package: "PulseKit"),
                .product(name: "PulsePlugins", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
        .executableTarget(
            name: "OnePart",
            dependencies: [
                .product(name: "PulseCore", package: "PulseKit"),
                .product(name: "PulseStreams", package: "PulseKit"),
            ]),
        .executableTarget(
            name: "Offline",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
        .executableTarget(
            name: "OwnPlugin",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
