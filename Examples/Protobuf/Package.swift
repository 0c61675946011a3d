// swift-tools-version: 6.1
// SPDX-License-Identifier: MIT

import PackageDescription

// Protobuf messages as bodies and responses, by an adapter in one file. The generated code is committed, so that the build
// needs no code generator, but at least the swift-protobuf of its generator. `./check` runs it against a server in the same
// process.
let package = Package(
    name: "Protobuf",
    platforms: [.iOS(.v15), .macOS(.v12)],
    dependencies: [
        .package(name: "PulseKit", path: "../.."),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    ],
    targets: [
        .executableTarget(
            name: "Protobuf",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
